// Command xdsbench measures xDS control planes under load. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first Ctrl-C ends the run, which saves what was measured; the second
	// one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintln(os.Stderr, "xdsbench: interrupted: saving what was measured, within 10 s; interrupt again to end at once")
	})
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
