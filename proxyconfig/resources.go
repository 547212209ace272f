package proxyconfig

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsbench/xdsbench/fakeproxy"
)

// decode unpacks the content of a resource.
func decode(r *fakeproxy.ResourceDump, into proto.Message) error {
	var content anypb.Any
	if err := proto.Unmarshal(r.Content, &content); err != nil {
		return err
	}
	return content.UnmarshalTo(into)
}

// clusterRows takes apart names such as "outbound|80|v1|svc.ns.svc.cluster.local",
// as istiod gives them: direction, port, subset, host.
func clusterRows(r *fakeproxy.ResourceDump) ([][]string, error) {
	var c clusterv3.Cluster
	if err := decode(r, &c); err != nil {
		return nil, err
	}
	kind := c.GetType().String()
	if c.GetClusterType() != nil {
		kind = c.GetClusterType().GetName()
	}
	host, port, subset, direction := r.Name, "", "", ""
	if parts := strings.Split(r.Name, "|"); len(parts) == 4 {
		direction, port, subset, host = parts[0], parts[1], parts[2], parts[3]
	}
	return [][]string{{host, port, subset, direction, kind}}, nil
}

// noEndpoints is the status of a cluster that has none.
const noEndpoints = "NONE"

func endpointRows(r *fakeproxy.ResourceDump) ([][]string, error) {
	var cla endpointv3.ClusterLoadAssignment
	if err := decode(r, &cla); err != nil {
		return nil, err
	}
	var rows [][]string
	for _, locality := range cla.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			address, port := socket(e.GetEndpoint().GetAddress())
			if port != "" {
				address = net.JoinHostPort(address, port)
			}
			// An endpoint without a health status counts as healthy.
			status := e.GetHealthStatus()
			if status == corev3.HealthStatus_UNKNOWN {
				status = corev3.HealthStatus_HEALTHY
			}
			rows = append(rows, []string{address, status.String(), r.Name})
		}
	}
	if len(rows) == 0 {
		rows = append(rows, []string{"", noEndpoints, r.Name})
	}
	return rows, nil
}

// socket writes an address, and a port if it has one.
func socket(a *corev3.Address) (address, port string) {
	switch {
	case a.GetSocketAddress() != nil:
		s := a.GetSocketAddress()
		return s.GetAddress(), strconv.FormatUint(uint64(s.GetPortValue()), 10)
	case a.GetPipe() != nil:
		return a.GetPipe().GetPath(), ""
	default:
		return a.GetEnvoyInternalAddress().GetServerListenerName(), ""
	}
}

func listenerRows(r *fakeproxy.ResourceDump) ([][]string, error) {
	var l listenerv3.Listener
	if err := decode(r, &l); err != nil {
		return nil, err
	}
	address, port := socket(l.GetAddress())
	var to []string
	for _, route := range r.Children {
		to = append(to, "Route: "+route)
	}
	if r.ScopedRoutes {
		to = append(to, "Scoped routes")
	}
	if len(to) == 0 {
		to = append(to, fmt.Sprintf("%d filter chains", chains(&l)))
	}
	return [][]string{{r.Name, address, port, strings.Join(to, ", ")}}, nil
}

func chains(l *listenerv3.Listener) int {
	n := len(l.GetFilterChains())
	if l.GetDefaultFilterChain() != nil {
		n++
	}
	return n
}

func routeRows(r *fakeproxy.ResourceDump) ([][]string, error) {
	var config routev3.RouteConfiguration
	if err := decode(r, &config); err != nil {
		return nil, err
	}
	var rows [][]string
	for _, host := range config.GetVirtualHosts() {
		for _, route := range host.GetRoutes() {
			rows = append(rows, []string{r.Name, host.GetName(), few(host.GetDomains()), match(route.GetMatch()), destination(route)})
		}
	}
	if len(rows) == 0 {
		rows = append(rows, []string{r.Name, "", "", "", ""})
	}
	return rows, nil
}

func match(m *routev3.RouteMatch) string {
	switch {
	case m.GetPath() != "":
		return m.GetPath()
	case m.GetSafeRegex() != nil:
		return "regex " + m.GetSafeRegex().GetRegex()
	case m.GetPathSeparatedPrefix() != "":
		return m.GetPathSeparatedPrefix() + "/*"
	}
	return m.GetPrefix() + "*"
}

func destination(r *routev3.Route) string {
	switch action := r.GetRoute(); {
	case r.GetRedirect() != nil:
		return "redirect"
	case r.GetDirectResponse() != nil:
		return fmt.Sprintf("status %d", r.GetDirectResponse().GetStatus())
	case action.GetWeightedClusters() != nil:
		var names []string
		for _, c := range action.GetWeightedClusters().GetClusters() {
			names = append(names, fmt.Sprintf("%s (%d)", c.GetName(), c.GetWeight().GetValue()))
		}
		slices.Sort(names)
		return strings.Join(names, ", ")
	default:
		return action.GetCluster()
	}
}
