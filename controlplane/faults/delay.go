package faults

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// maxDelay bounds the delays that can be asked for.
const maxDelay = time.Hour

// delay is a sum of terms, each drawn for every push to every proxy, except for
// spread, which is fixed per proxy.
type delay struct{ terms []delayTerm }

// delayTerm returns a delay in nanoseconds, for a proxy whose place in the spread
// is from 0 to 1.
type delayTerm func(rng *rand.Rand, place float64) float64

// set parses terms joined by "+".
func (d *delay) set(value string) error {
	d.terms = nil
	for text := range strings.SplitSeq(value, "+") {
		term, err := parseDelayTerm(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		d.terms = append(d.terms, term)
	}
	return nil
}

// parseDelayTerm parses "10ms", "uniform(1ms,5ms)", "exponential(10ms)" (its
// mean) or "spread(100ms)" (uniform over the proxies).
func parseDelayTerm(text string) (delayTerm, error) {
	kind, rest, call := strings.Cut(text, "(")
	if !call {
		rest = text + ")"
	}
	inner, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return nil, fmt.Errorf("%q has no closing parenthesis", text)
	}
	args, err := parseArguments(inner)
	if err != nil {
		return nil, err
	}
	first, last := args[0], args[len(args)-1]
	switch {
	case !call && len(args) == 1:
		return func(*rand.Rand, float64) float64 { return first }, nil
	case kind == "exponential" && len(args) == 1:
		return func(rng *rand.Rand, _ float64) float64 { return first * rng.ExpFloat64() }, nil
	case kind == "spread" && len(args) == 1:
		return func(_ *rand.Rand, place float64) float64 { return first * place }, nil
	case kind == "uniform" && len(args) == 2 && first <= last:
		return func(rng *rand.Rand, _ float64) float64 { return first + rng.Float64()*(last-first) }, nil
	}
	return nil, errors.New("must be a sum of terms such as 10ms, uniform(1ms,5ms), exponential(10ms) and spread(100ms)")
}

// parseArguments returns durations that are separated by commas, in nanoseconds.
func parseArguments(text string) ([]float64, error) {
	var args []float64
	for arg := range strings.SplitSeq(text, ",") {
		parsed, err := time.ParseDuration(strings.TrimSpace(arg))
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration; write it like 10ms", arg)
		}
		if parsed < 0 || parsed > maxDelay {
			return nil, fmt.Errorf("%s must be from 0 to %s", parsed, maxDelay)
		}
		args = append(args, float64(parsed))
	}
	return args, nil
}

// draw returns the delay of one push to one proxy.
func (d *delay) draw(rng *rand.Rand, place float64) time.Duration {
	var sum float64
	for _, term := range d.terms {
		sum += term(rng, place)
	}
	return time.Duration(math.Round(sum))
}
