package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// launch is how a target is started and reached; it stays the same over restarts.
type launch struct {
	// args is the program and its arguments; nil for an external target.
	args []string
	// workDir is the directory to run in, made empty for it; "" means our own.
	workDir string
	env     map[string]string

	xds        []string
	readyURL   string // answers 200 when the target is ready; "" to go by xds alone
	versionURL string
	synczURL   string
	metricsURL string
	pprofURL   string
}

func newLaunch(ctx context.Context, cfg Config) (launch, error) {
	kubeconfig, err := kubeconfigPath(cfg)
	if err != nil {
		return launch{}, err
	}
	var l launch
	switch cfg.Spec.Kind {
	case KindEmbedded:
		l, err = embeddedLaunch(ctx, cfg, kubeconfig)
	case KindIstiod:
		l, err = istiodLaunch(ctx, cfg, kubeconfig)
	case KindExec:
		l, err = execLaunch(ctx, cfg, kubeconfig)
	default:
		return externalLaunch(cfg.Spec), nil
	}
	l.env = environment(cfg.Spec, cfg.Environ)
	return l, err
}

// kubeconfigPath returns the absolute path of the kubeconfig file that the
// target is to read, "" if it needs none.
func kubeconfigPath(cfg Config) (string, error) {
	kind := cfg.Spec.Kind
	if kind == KindExternal || kind == KindExec && !strings.Contains(cfg.Spec.Exec, "{kubeconfig}") {
		return "", nil
	}
	if cfg.Kubeconfig == "" {
		return "", fmt.Errorf("target: kind %s needs a kubeconfig file: none was given", kind)
	}
	if _, err := os.Stat(cfg.Kubeconfig); err != nil {
		return "", fmt.Errorf("target: kubeconfig for the target: %w", err)
	}
	return filepath.Abs(cfg.Kubeconfig)
}

func embeddedLaunch(ctx context.Context, cfg Config, kubeconfig string) (launch, error) {
	if cfg.Self == "" {
		return launch{}, errors.New("target: kind embedded needs the path of the xdsbench executable: none was given")
	}
	addresses, err := subprocess.FreeAddresses(ctx, 2)
	if err != nil {
		return launch{}, err
	}
	xds, base := addresses[0], "http://"+addresses[1]
	return launch{
		args: []string{
			cfg.Self, "controlplane",
			"--kubeconfig", kubeconfig, "--xds-address", xds, "--http-address", addresses[1],
		},
		xds:        []string{xds},
		readyURL:   base + "/ready",
		versionURL: base + "/version",
		synczURL:   base + "/debug/syncz",
		metricsURL: base + "/metrics",
		pprofURL:   base + "/debug/pprof",
	}, nil
}

func istiodLaunch(ctx context.Context, cfg Config, kubeconfig string) (launch, error) {
	binary, err := findProgram(cfg.Spec.Binary)
	if err != nil {
		return launch{}, fmt.Errorf("target.binary: %w; give the path of a pilot-discovery binary", err)
	}
	addresses, err := subprocess.FreeAddresses(ctx, 3)
	if err != nil {
		return launch{}, err
	}
	// istiod reads ./etc and ./var of its working directory: none shall be there.
	workDir, err := filepath.Abs(filepath.Join(cfg.Dir, "target-workdir"))
	if err != nil {
		return launch{}, fmt.Errorf("target: %w", err)
	}
	monitoring := "http://" + addresses[2]
	return launch{
		args: []string{
			binary, "discovery",
			"--kubeconfig=" + kubeconfig,
			"--grpcAddr=" + addresses[0],
			"--httpAddr=" + addresses[1],
			"--monitoringAddr=" + addresses[2],
			"--secureGRPCAddr=", "--httpsAddr=", "--ctrlz_port=0",
		},
		workDir:    workDir,
		xds:        addresses[:1],
		readyURL:   "http://" + addresses[1] + "/ready",
		versionURL: monitoring + "/version",
		synczURL:   "http://" + addresses[1] + "/debug/syncz",
		metricsURL: monitoring + "/metrics",
		pprofURL:   monitoring + "/debug/pprof",
	}, nil
}

func execLaunch(ctx context.Context, cfg Config, kubeconfig string) (launch, error) {
	spec := cfg.Spec
	addresses, err := subprocess.FreeAddresses(ctx, 3)
	if err != nil {
		return launch{}, err
	}
	words, err := splitCommand(spec.Exec)
	if err != nil {
		return launch{}, fmt.Errorf("target.exec: %q: %w", spec.Exec, err)
	}
	fill := strings.NewReplacer("{kubeconfig}", kubeconfig,
		"{xds}", addresses[0], "{metrics}", addresses[1], "{pprof}", addresses[2])
	for i, word := range words {
		words[i] = fill.Replace(word)
	}
	if words[0], err = findProgram(words[0]); err != nil {
		return launch{}, fmt.Errorf("target.exec: %w", err)
	}
	l := launch{args: words, xds: spec.addresses()}
	if l.xds == nil {
		l.xds = addresses[:1]
	}
	l.metricsURL = fill.Replace(spec.MetricsURL)
	if l.metricsURL == "" && strings.Contains(spec.Exec, "{metrics}") {
		l.metricsURL = "http://" + addresses[1] + "/metrics"
	}
	l.pprofURL = strings.TrimRight(fill.Replace(spec.PprofURL), "/")
	if l.pprofURL == "" && strings.Contains(spec.Exec, "{pprof}") {
		l.pprofURL = "http://" + addresses[2] + "/debug/pprof"
	}
	return l, nil
}

func externalLaunch(spec Spec) launch {
	return launch{
		xds:        spec.addresses(),
		metricsURL: spec.MetricsURL,
		pprofURL:   strings.TrimRight(spec.PprofURL, "/"),
	}
}

// findProgram returns the absolute path of an executable file, given by path or
// by name in our PATH.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		// Its text is `exec: "name": why`.
		return "", fmt.Errorf("cannot run the program: %w", err)
	}
	return filepath.Abs(path)
}
