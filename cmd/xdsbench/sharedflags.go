package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/target"
)

// formatFlag is --format.
type formatFlag struct {
	name    string
	formats []string
}

// register declares the flag. The first of the formats is the default.
func (f *formatFlag) register(flags *pflag.FlagSet, formats ...string) {
	f.formats = formats
	flags.StringVar(&f.name, "format", formats[0], "what to print: "+f.choice())
}

// check reports a format that does not exist.
func (f *formatFlag) check() error {
	if slices.Contains(f.formats, f.name) {
		return nil
	}
	return fmt.Errorf("--format: %q: must be %s", f.name, f.choice())
}

// named is the folder to name in what is printed: what is not text is read elsewhere.
func (f *formatFlag) named(dir string) string {
	if f.name != "text" {
		return ""
	}
	return dir
}

// choice writes "text, json or markdown".
func (f *formatFlag) choice() string {
	last := len(f.formats) - 1
	return strings.Join(f.formats[:last], ", ") + " or " + f.formats[last]
}

// outputFlags say where the results of runs go, and what is printed.
type outputFlags struct {
	out    string
	format formatFlag
	quiet  bool
}

// register declares the flags; out describes -o.
func (f *outputFlags) register(flags *pflag.FlagSet, out string, formats ...string) {
	flags.StringVarP(&f.out, "out", "o", "", out)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	f.format.register(flags, formats...)
}

// folder returns where the results for a profile go: what -o says, or a new folder
// whose name begins with the prefix. It is fixed at the first call.
func (f *outputFlags) folder(prefix string, p *profiles.Profile) string {
	if f.out == "" {
		f.out = filepath.Join("results", prefix+p.Name+"-"+time.Now().Format("20060102-150405"))
	}
	return f.out
}

// apiServerFlags name the API server that holds the mesh.
type apiServerFlags struct{ kubeconfig, context string }

// register declares the flags; kubeconfig describes --kubeconfig.
func (f *apiServerFlags) register(flags *pflag.FlagSet, kubeconfig string) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", kubeconfig)
	flags.StringVar(&f.context, "context", "", "the kubeconfig's context; needed for an API server that is not on this machine")
}

// meshKubeconfig describes --kubeconfig of the commands that make runs.
const meshKubeconfig = "put the mesh on this API server instead of an in-memory one"

// check reports what is wrong with the API server for runs of the profile.
func (f *apiServerFlags) check(p *profiles.Profile) error {
	if f.context != "" && f.kubeconfig == "" {
		return errors.New("--context: needs --kubeconfig")
	}
	if p.Target.Kind == target.KindExternal && f.kubeconfig == "" {
		return errors.New("--target external: needs --kubeconfig of the API server that the control plane watches, or no change would reach it (`xdsbench fakekube` serves as one)")
	}
	return nil
}
