// Package target is the control plane under test: started by us as a process
// of its own (the embedded one, an istiod, any command), or found at an
// address. It says where the target's ADS, metrics and pprof endpoints are, what it
// costs in CPU and memory, and how it ended. No call to a target takes longer than its
// bound, whatever the target does.
//
// A started target is the leader of a process group of its own. [Target.Stop]
// ends the whole group, and the kernel kills the leader when the harness dies
// without having stopped it.
//
// # Placeholders of an exec command
//
// The command line of kind "exec" is split into words as a POSIX shell would
// split them (blanks, single and double quotes, backslash), and run without a
// shell: no variables, globs, pipes or redirections. Each word may contain
//
//	{kubeconfig}  the absolute path of the kubeconfig file to watch
//	{xds}         HOST:PORT to serve ADS on, without TLS
//	{metrics}     HOST:PORT to serve Prometheus metrics on, path /metrics
//	{pprof}       HOST:PORT to serve net/http/pprof on, path /debug/pprof
//	{xdsPort}, {metricsPort}, {pprofPort}
//	              the port alone, for commands that take it apart from the address,
//	              which is 127.0.0.1
//
// The metrics and pprof URLs of a profile may contain {metrics} and {pprof} too,
// for commands that serve other paths or both on one port:
//
//	exec: mycp --kubeconfig {kubeconfig} --listen {xds} --admin {metrics}
//	metricsURL: http://{metrics}/stats/prometheus
//	pprofURL: http://{metrics}/debug/pprof
//
// # Names of clusters
//
// The profile's clusterName says how the target names the EDS resource of a service's
// port. It is a template with
//
//	{service}    the service's name
//	{namespace}  its namespace
//	{port}       the port's number, such as 80
//	{portName}   the port's name, such as http-80
package target
