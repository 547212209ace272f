package target

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// redacted replaces the value of a variable whose name says it is a secret.
const redacted = "REDACTED"

// raisedLimit is a limit of new streams per second that no fleet reaches.
const raisedLimit = "100000"

// inheritedNames are the variables of a machine that any program needs.
func inheritedNames() []string { return []string{"PATH", "HOME", "TMPDIR"} }

// inherited returns the variables of our environment that a target gets too. All
// others could change, unnoticed, what it does from machine to machine.
func inherited(environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(inheritedNames(), name) {
			env[name] = value
		}
	}
	return env
}

// environment returns what a replica runs with: what it inherits, under our defaults
// for its kind, under the profile's.
func environment(spec Spec, environ []string, replica int) map[string]string {
	env := inherited(environ)
	if spec.Kind == KindIstiod {
		maps.Copy(env, map[string]string{
			// No CA, webhooks or certificates: they need objects in Kubernetes, and
			// have no part in the distribution of configuration.
			"ENABLE_CA_SERVER":               "false",
			"PILOT_CERT_PROVIDER":            "none",
			"INJECT_ENABLED":                 "false",
			"VALIDATION_WEBHOOK_CONFIG_NAME": "",
			"INJECTION_WEBHOOK_CONFIG_NAME":  "",
			"POD_NAME":                       "istiod-" + strconv.Itoa(replica),
			"POD_NAMESPACE":                  "istio-system",
		})
	}
	if spec.ConnectionLimit == limitRaise && (spec.Kind == KindIstiod || spec.Kind == KindEmbedded) {
		env["PILOT_MAX_REQUESTS_PER_SECOND"] = raisedLimit
	}
	maps.Copy(env, spec.Env)
	return env
}

// entries returns the environment as os/exec takes it, sorted by name.
func entries(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// redact returns the environment without the values of secrets, and without what is
// the machine's alone.
func redact(env map[string]string) map[string]string {
	public := make(map[string]string, len(env))
	for name, value := range env {
		if slices.Contains(inheritedNames(), name) {
			continue
		}
		public[name] = value
		for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "KEY"} {
			if strings.Contains(strings.ToUpper(name), word) {
				public[name] = redacted
			}
		}
	}
	return public
}
