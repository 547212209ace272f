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

// delay is a sum of terms, each drawn anew for every push and proxy but for
// spread, which is fixed per proxy.
type delay struct{ terms []delayTerm }

// delayTerm is one term: "10ms", "uniform(1ms,5ms)", "exponential(10ms)" (its
// mean) or "spread(100ms)" (uniform over the proxies).
type delayTerm struct {
	kind string
	a, b time.Duration
}

const (
	delayConstant    = "constant"
	delayUniform     = "uniform"
	delayExponential = "exponential"
	delaySpread      = "spread"
)

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

func parseDelayTerm(text string) (delayTerm, error) {
	kind, rest, call := strings.Cut(text, "(")
	if !call {
		kind, rest = delayConstant, text+")"
	}
	inner, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return delayTerm{}, fmt.Errorf("%q has no closing parenthesis", text)
	}
	var args []time.Duration
	for arg := range strings.SplitSeq(inner, ",") {
		parsed, err := time.ParseDuration(strings.TrimSpace(arg))
		if err != nil {
			return delayTerm{}, fmt.Errorf("%q is not a duration; write it like 10ms", arg)
		}
		if parsed < 0 || parsed > maxDelay {
			return delayTerm{}, fmt.Errorf("%s must be from 0 to %s", parsed, maxDelay)
		}
		args = append(args, parsed)
	}
	switch {
	case (kind == delayConstant || kind == delayExponential || kind == delaySpread) && len(args) == 1:
		return delayTerm{kind: kind, a: args[0]}, nil
	case kind == delayUniform && len(args) == 2 && args[0] <= args[1]:
		return delayTerm{kind: kind, a: args[0], b: args[1]}, nil
	}
	return delayTerm{}, errors.New("must be a sum of terms such as 10ms, uniform(1ms,5ms), exponential(10ms) and spread(100ms)")
}

// draw returns the delay of one push to one proxy, whose place in the spread is
// from 0 to 1.
func (d *delay) draw(rng *rand.Rand, place float64) time.Duration {
	var sum float64
	for _, term := range d.terms {
		switch term.kind {
		case delayConstant:
			sum += float64(term.a)
		case delayUniform:
			sum += float64(term.a) + rng.Float64()*float64(term.b-term.a)
		case delayExponential:
			sum += rng.ExpFloat64() * float64(term.a)
		case delaySpread:
			sum += place * float64(term.a)
		}
	}
	return time.Duration(math.Round(sum))
}
