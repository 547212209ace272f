package target

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/address"
	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// The kinds of target.
const (
	// KindEmbedded is the reference control plane that comes with xdsbench.
	KindEmbedded = "embedded"
	// KindIstiod is an istiod binary (pilot-discovery).
	KindIstiod = "istiod"
	// KindExec is any command that serves ADS.
	KindExec = "exec"
	// KindExternal is a control plane that runs already.
	KindExternal = "external"
)

// The connection limits.
const (
	// limitRaise lifts the target's limit on new streams, so that connecting
	// the fleet takes as long as the profile says.
	limitRaise = "raise"
	// limitDefault keeps the target's own limit. istiod accepts 15+5 x GOMAXPROCS
	// streams a second, at most 100, and refuses a stream that waits over a second.
	limitDefault = "default"
)

// The priorities.
const (
	// priorityNormal is the harness's own: each gets half of a processor that both
	// need.
	priorityNormal = "normal"
	// priorityLow makes the target give way, over milliseconds: nice 5.
	priorityLow = "low"
	// priorityIdle makes it give way at once, so that no message waits for its time
	// stamp while the target has the processor: SCHED_IDLE. Everything else on the
	// machine takes precedence as well, so the machine should be otherwise idle.
	priorityIdle = "idle"
)

// Spec is the profile's section "target".
type Spec struct {
	// Kind is "embedded", "istiod", "exec" or "external".
	Kind string `json:"kind" role:"setting"`
	// Replicas is how many processes of "embedded", "istiod" or "exec" run, each with
	// ports, a log and a working directory of its own. An "external" target has as
	// many as XDSAddress has addresses.
	Replicas int `json:"replicas" role:"setting"`
	// Balance is how each connection attempt of a proxy chooses among the replicas
	// that are up: "round-robin" or "random".
	Balance string `json:"balance" role:"setting"`
	// Env is added to the target's environment, and wins over what we set.
	// Only for targets that we start.
	Env map[string]string `json:"env,omitempty" role:"setting"`
	// Binary is the path of the istiod binary, or its name in PATH. Empty is
	// pilot-discovery in PATH.
	Binary string `json:"binary,omitempty" role:"setting"`
	// Args are further arguments for the command of "embedded" and "istiod".
	Args []string `json:"args,omitempty" role:"setting"`
	// Exec is the command line of kind "exec"; see the package's documentation.
	Exec string `json:"exec,omitempty" role:"setting"`
	// XDSAddress is where the target serves ADS: HOST:PORT or unix:/PATH, several
	// separated by commas. For "external", and for an "exec" whose address is fixed.
	XDSAddress string `json:"xdsAddress,omitempty" role:"setting"`
	// MetricsURL is where "exec" and "external" targets serve Prometheus metrics. For
	// several addresses of an "external" target there may be as many, separated by
	// commas; so may PprofURL.
	MetricsURL string `json:"metricsURL,omitempty" role:"setting"`
	// MetricNames says how "exec" and "external" targets name their metrics where
	// istiod's names are not theirs: istiod's name, then the target's, such as
	// pilot_xds: connected_clients.
	MetricNames map[string]string `json:"metricNames,omitempty" role:"setting"`
	// PprofURL is the base URL of net/http/pprof, such as
	// http://127.0.0.1:6060/debug/pprof, of "exec" and "external" targets.
	PprofURL string `json:"pprofURL,omitempty" role:"setting"`
	// ClusterName is the template of the target's EDS resource names, with {service},
	// {namespace}, {port} and {portName}; see the package mesh, which fills it in.
	ClusterName string `json:"clusterName" role:"setting"`
	// ConnectionLimit is "raise" or "default"; only embedded and istiod heed it.
	ConnectionLimit string `json:"connectionLimit" role:"setting"`
	// Priority is "normal", "low" or "idle": how far a target that we start gives way
	// to the harness where both want the same processor. A message that waits for its
	// time stamp gives a wrong latency; a target that waits is what the latency is to
	// show.
	Priority string `json:"priority" role:"setting"`
	// Outage, if set, takes replicas of a target that we started down in the steady
	// phase, and up again.
	Outage *OutageSpec `json:"outage,omitempty"`
}

// DefaultSpec returns the embedded control plane, with its connection limit raised.
func DefaultSpec() Spec {
	return Spec{
		Kind: KindEmbedded, Replicas: 1, Balance: balanceRoundRobin,
		ConnectionLimit: limitRaise, Priority: priorityLow,
	}
}

// Validate returns all problems of the section, one per line, each beginning
// with the path of its field; nil if there is none.
func (s Spec) Validate() error {
	var errs []error
	switch s.Kind {
	case KindEmbedded, KindIstiod:
	case KindExec:
		errs = append(errs, s.validateExec(), s.validateAddresses())
	case KindExternal:
		errs = append(errs, s.validateAddresses())
	default:
		errs = append(errs, fmt.Errorf("target.kind: %q: must be embedded, istiod, exec or external", s.Kind))
	}
	errs = append(errs, s.validateUnused(), s.validateEnv(), s.validateMetricNames(),
		s.validateURLs("metricsURL", s.MetricsURL), s.validateURLs("pprofURL", s.PprofURL))
	if s.ConnectionLimit != limitRaise && s.ConnectionLimit != limitDefault {
		errs = append(errs, fmt.Errorf("target.connectionLimit: %q: must be raise or default", s.ConnectionLimit))
	}
	_, err := s.priority()
	return errors.Join(append(errs, err, s.validateReplicas(), s.validateOutage())...)
}

// priority is that of the processes started.
func (s Spec) priority() (subprocess.Priority, error) {
	switch s.Priority {
	case priorityNormal:
		return subprocess.Same, nil
	case priorityLow:
		return subprocess.Low, nil
	case priorityIdle:
		return subprocess.Idle, nil
	}
	return subprocess.Same, fmt.Errorf("target.priority: %q: must be normal, low or idle", s.Priority)
}

// validateUnused refuses fields that the kind does not use: a setting without effect
// would be taken for one that has it.
func (s Spec) validateUnused() error {
	fields := []struct {
		name, value string
		kinds       []string
	}{
		{"args", strings.Join(s.Args, " "), []string{KindEmbedded, KindIstiod}},
		{"binary", s.Binary, []string{KindIstiod}},
		{"exec", s.Exec, []string{KindExec}},
		{"xdsAddress", s.XDSAddress, []string{KindExec, KindExternal}},
		{"metricsURL", s.MetricsURL, []string{KindExec, KindExternal}},
		{"pprofURL", s.PprofURL, []string{KindExec, KindExternal}},
	}
	var errs []error
	for _, f := range fields {
		if f.value != "" && !slices.Contains(f.kinds, s.Kind) && s.knownKind() {
			errs = append(errs, fmt.Errorf("target.%s: %q: only kind %s uses it, and the kind is %s: remove it",
				f.name, f.value, strings.Join(f.kinds, " or "), s.Kind))
		}
	}
	if s.Kind == KindExternal && len(s.Env) > 0 {
		errs = append(errs, fmt.Errorf("target.env: %s: an external target's environment cannot be set from here: set it where the target is started",
			strings.Join(slices.Sorted(maps.Keys(s.Env)), ", ")))
	}
	return errors.Join(errs...)
}

func (s Spec) knownKind() bool {
	return slices.Contains([]string{KindEmbedded, KindIstiod, KindExec, KindExternal}, s.Kind)
}

func (s Spec) validateExec() error {
	var errs []error
	words, err := splitCommand(s.Exec)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("target.exec: %q: %w", s.Exec, err))
	case len(words) == 0:
		errs = append(errs, errors.New(`target.exec: "": kind exec needs a command line, such as 'mycp --kubeconfig {kubeconfig} --listen {xds}'`))
	case s.XDSAddress == "" && !s.tells("xds"):
		errs = append(errs, fmt.Errorf("target.exec: %q: has no {xds}: pass it to the flag for the listen address, or set target.xdsAddress to where the command listens", s.Exec))
	}
	for _, name := range placeholders(s.Exec) {
		if !slices.Contains([]string{"kubeconfig", "xds", "metrics", "pprof", "xdsPort", "metricsPort", "pprofPort"}, name) {
			errs = append(errs, fmt.Errorf("target.exec: {%s}: must be {kubeconfig}, {xds}, {metrics} or {pprof}, or {xdsPort}, {metricsPort} or {pprofPort} for the port alone", name))
		}
	}
	return errors.Join(errs...)
}

func (s Spec) validateEnv() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			errs = append(errs, fmt.Errorf("target.env: %q: is not a name that an environment variable can have", name))
		}
		if strings.Contains(s.Env[name], "\x00") {
			errs = append(errs, fmt.Errorf("target.env.%s: %q: a value cannot contain a NUL byte", name, s.Env[name]))
		}
	}
	return errors.Join(errs...)
}

// addresses are those that the profile gives, in one notation.
func (s Spec) addresses() []string {
	if s.XDSAddress == "" {
		return nil
	}
	parsed, _ := address.ParseList("", s.XDSAddress) // Validate reports the error
	texts := make([]string, len(parsed))
	for i, a := range parsed {
		texts[i] = a.String()
	}
	return texts
}

func (s Spec) validateAddresses() error {
	if s.XDSAddress == "" && s.Kind == KindExternal {
		return errors.New(`target.xdsAddress: "": kind external needs the address of the ADS server, several separated by commas`)
	}
	if s.XDSAddress == "" {
		return nil
	}
	_, err := address.ParseList("target.xdsAddress", s.XDSAddress)
	return err
}

// splitList splits what commas separate, without the blanks around it; nil of
// nothing.
func splitList(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// validateURLs checks a URL; of an external target, several.
func (s Spec) validateURLs(field, value string) error {
	if s.Kind != KindExternal || !strings.Contains(value, ",") {
		return s.validateURL(field, value)
	}
	urls := splitList(value)
	var errs []error
	if n := len(s.addresses()); len(urls) != n {
		errs = append(errs, fmt.Errorf("target.%s: %d URLs for %d addresses of target.xdsAddress: give one for all, or one for each", field, len(urls), n))
	}
	for _, u := range urls {
		errs = append(errs, s.validateURL(field, u))
	}
	return errors.Join(errs...)
}

func (s Spec) validateURL(field, value string) error {
	if value == "" {
		return nil
	}
	var errs []error
	for _, name := range placeholders(value) {
		if s.Kind != KindExec || (name != "metrics" && name != "pprof") {
			errs = append(errs, fmt.Errorf("target.%s: {%s}: only {metrics} and {pprof} can stand here, and only with kind exec", field, name))
		} else if !s.tells(name) {
			errs = append(errs, fmt.Errorf("target.%s: %q: target.exec does not tell the command to listen on {%s}", field, value, name))
		}
	}
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(value))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		errs = append(errs, fmt.Errorf("target.%s: %q: must be a URL such as http://127.0.0.1:15014/metrics", field, value))
	}
	return errors.Join(errs...)
}

// tells reports whether the command is told to listen on the address of this name, or
// on its port.
func (s Spec) tells(name string) bool {
	return strings.Contains(s.Exec, "{"+name+"}") || strings.Contains(s.Exec, "{"+name+"Port}")
}

// placeholders returns the names that stand in braces in a template.
func placeholders(template string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	return names
}
