package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes, as documented by `xdsbench --help`.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitSLO         = 3
	exitSaturated   = 4
	exitRegression  = 5
	exitDefects     = 6
	exitInterrupted = 130
)

// exitError is an error with the exit code it leads to. An empty text means
// that everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError marks err as the caller's mistake.
func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUsage, err: err}
}

// explain prints err, one line per problem, and returns its exit code.
func explain(stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
	}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			fmt.Fprintln(stderr, "xdsbench:", line)
		}
	}
	return code
}
