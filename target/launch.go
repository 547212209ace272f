package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// launch is how a replica is started and reached; it stays the same over restarts.
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

// portsPerReplica is how many free ports a replica gets.
const portsPerReplica = 3

// newLaunches returns how to start and reach each replica.
func newLaunches(ctx context.Context, cfg Config) ([]launch, error) {
	if cfg.Spec.Kind == KindExternal {
		return externalLaunches(cfg.Spec), nil
	}
	kubeconfig, err := kubeconfigPath(cfg)
	if err != nil {
		return nil, err
	}
	// All ports at once, so that no two replicas get the same.
	ports, err := subprocess.FreeAddresses(ctx, cfg.Spec.Replicas*portsPerReplica)
	if err != nil {
		return nil, err
	}
	launches := make([]launch, cfg.Spec.Replicas)
	for i := range launches {
		own := ports[i*portsPerReplica : (i+1)*portsPerReplica]
		l := &launches[i]
		switch cfg.Spec.Kind {
		case KindEmbedded:
			*l, err = embeddedLaunch(cfg, kubeconfig, own)
		case KindIstiod:
			*l, err = istiodLaunch(cfg, kubeconfig, own, i)
		default:
			*l, err = execLaunch(cfg, kubeconfig, own)
		}
		if err != nil {
			return nil, err
		}
		l.env = environment(cfg.Spec, cfg.Environ, i)
	}
	return launches, nil
}

// kubeconfigPath returns the absolute path of the kubeconfig file that the
// target is to read, "" if it needs none.
func kubeconfigPath(cfg Config) (string, error) {
	kind := cfg.Spec.Kind
	if kind == KindExec && !strings.Contains(cfg.Spec.Exec, "{kubeconfig}") {
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

func embeddedLaunch(cfg Config, kubeconfig string, addresses []string) (launch, error) {
	if cfg.Self == "" {
		return launch{}, errors.New("target: kind embedded needs the path of the xdsbench executable: none was given")
	}
	xds, base := addresses[0], "http://"+addresses[1]
	return launch{
		args: append([]string{
			cfg.Self, "controlplane",
			"--kubeconfig", kubeconfig, "--xds-address", xds, "--http-address", addresses[1],
		}, cfg.Spec.Args...),
		xds:        []string{xds},
		readyURL:   base + "/ready",
		versionURL: base + "/version",
		synczURL:   base + "/debug/syncz",
		metricsURL: base + "/metrics",
		pprofURL:   base + "/debug/pprof",
	}, nil
}

func istiodLaunch(cfg Config, kubeconfig string, addresses []string, replica int) (launch, error) {
	binary, err := findProgram(cmp.Or(cfg.Spec.Binary, "pilot-discovery"))
	if err != nil {
		return launch{}, fmt.Errorf("target.binary: %w; give the path of a pilot-discovery binary (--istiod-binary)", err)
	}
	// istiod reads ./etc and ./var of its working directory: there must be none.
	workDir, err := filepath.Abs(filepath.Join(cfg.Dir, FileOf("target-workdir", replica)))
	if err != nil {
		return launch{}, fmt.Errorf("target: %w", err)
	}
	monitoring := "http://" + addresses[2]
	return launch{
		args: append([]string{
			binary, "discovery",
			"--kubeconfig=" + kubeconfig,
			"--grpcAddr=" + addresses[0],
			"--httpAddr=" + addresses[1],
			"--monitoringAddr=" + addresses[2],
			"--secureGRPCAddr=", "--httpsAddr=", "--ctrlz_port=0",
		}, cfg.Spec.Args...),
		workDir:    workDir,
		xds:        addresses[:1],
		readyURL:   "http://" + addresses[1] + "/ready",
		versionURL: monitoring + "/version",
		synczURL:   "http://" + addresses[1] + "/debug/syncz",
		metricsURL: monitoring + "/metrics",
		pprofURL:   monitoring + "/debug/pprof",
	}, nil
}

func execLaunch(cfg Config, kubeconfig string, addresses []string) (launch, error) {
	spec := cfg.Spec
	words, err := splitCommand(spec.Exec)
	if err != nil {
		return launch{}, fmt.Errorf("target.exec: %q: %w", spec.Exec, err)
	}
	fill := fillPlaceholders(kubeconfig, addresses)
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
	if l.metricsURL == "" && spec.tells("metrics") {
		l.metricsURL = "http://" + addresses[1] + "/metrics"
	}
	l.pprofURL = strings.TrimRight(fill.Replace(spec.PprofURL), "/")
	if l.pprofURL == "" && spec.tells("pprof") {
		l.pprofURL = "http://" + addresses[2] + "/debug/pprof"
	}
	return l, nil
}

// fillPlaceholders replaces what stands in braces in a command line.
func fillPlaceholders(kubeconfig string, addresses []string) *strings.Replacer {
	pairs := []string{"{kubeconfig}", kubeconfig}
	for i, name := range []string{"xds", "metrics", "pprof"} {
		port := addresses[i][strings.LastIndexByte(addresses[i], ':')+1:]
		pairs = append(pairs, "{"+name+"}", addresses[i], "{"+name+"Port}", port)
	}
	return strings.NewReplacer(pairs...)
}

// externalLaunches returns a replica per address. If there are fewer URLs than
// addresses, the first replicas have them.
func externalLaunches(spec Spec) []launch {
	var launches []launch
	metrics, pprof := splitList(spec.MetricsURL), splitList(spec.PprofURL)
	for i, text := range spec.addresses() {
		l := launch{xds: []string{text}}
		if i < len(metrics) {
			l.metricsURL = metrics[i]
		}
		if i < len(pprof) {
			l.pprofURL = strings.TrimRight(pprof[i], "/")
		}
		launches = append(launches, l)
	}
	return launches
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
