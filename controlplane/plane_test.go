package controlplane_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/xdsbench/xdsbench/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBadEnvironmentIsReportedByNameAndValue(t *testing.T) {
	err := controlplane.Run(t.Context(), controlplane.Config{
		Client: fake.NewClientset(),
		Env: map[string]string{
			"PILOT_DEBOUNCE_AFTER":          "soon",
			"PILOT_DEBOUNCE_MAX":            "0s",
			"PILOT_ENABLE_EDS_DEBOUNCE":     "perhaps",
			"PILOT_PUSH_THROTTLE":           "-1",
			"PILOT_MAX_REQUESTS_PER_SECOND": "NaN",
			"PILOT_SOMETHING_ELSE":          "ignored",
			"ISTIO_DELTA_XDS":               "ignored",
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`PILOT_DEBOUNCE_AFTER="soon"`, `PILOT_DEBOUNCE_MAX="0s"`, `PILOT_ENABLE_EDS_DEBOUNCE="perhaps"`,
		`PILOT_PUSH_THROTTLE="-1"`, `PILOT_MAX_REQUESTS_PER_SECOND="NaN"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not mention %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "ignored") {
		t.Errorf("error mentions what should be ignored: %v", err)
	}
}

func TestConfigurationWithoutClusterIsRefused(t *testing.T) {
	if err := controlplane.Run(t.Context(), controlplane.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestAddressInUseIsReported(t *testing.T) {
	p := startPlane(t, nil)
	err := controlplane.Run(context.Background(), controlplane.Config{
		Client: fake.NewClientset(), XDSAddress: p.XDS, HTTPAddress: "127.0.0.1:0",
	})
	if err == nil || !strings.Contains(err.Error(), p.XDS) {
		t.Errorf("error %v does not name the address", err)
	}
}

func TestPagesAnswer(t *testing.T) {
	p := startPlane(t, nil, small()...)
	for path, want := range map[string]string{
		"/ready":                         "",
		"/version":                       "test",
		"/debug/syncz":                   "[]\n",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		code, body := p.get(t, path)
		if code != http.StatusOK || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %.40q, want 200 and %q", path, code, body, want)
		}
	}
}

func TestMetricsFollowIstiodsNames(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	c.want(t, eds)
	eventually(t, "the push is recorded", func() bool { return p.metric(t, "pilot_proxy_convergence_time") == 1 })
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"pilot_xds", []string{"version=unknown"}, 1},
		{"pilot_services", nil, 3},
		{"pilot_xds_pushes", []string{"type=cds"}, 1},
		{"pilot_xds_pushes", []string{"type=eds"}, 2},
		{"pilot_xds_pushes", []string{"type=lds"}, 1},
		{"pilot_xds_pushes", []string{"type=rds"}, 1},
		{"pilot_xds_push_time", []string{"type=eds"}, 2},
		{"pilot_xds_send_time", nil, 5},
		{"pilot_xds_config_size_bytes", []string{"type=" + eds}, 2},
		{"pilot_proxy_queue_time", nil, 1},
		{"pilot_debounce_time", nil, 1},
		{"pilot_pushcontext_init_seconds", nil, 1},
		{"pilot_push_triggers", []string{"type=endpoint"}, 1},
		{"pilot_inbound_updates", []string{"type=svc"}, 3},
		{"pilot_inbound_updates", []string{"type=eds"}, 2},
		{"pilot_inbound_updates", []string{"type=config"}, 1},
	} {
		if got := p.metric(t, want.name, want.labels...); got != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if p.metric(t, name) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestSynczComparesSentAndAcknowledgedNonces(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	eventually(t, "everything is acknowledged", func() bool {
		s := p.syncz(t)
		return len(s) == 1 && s[0]["route_acked"] != nil
	})
	s := p.syncz(t)[0]
	if s["proxy"] != "web-a.shop" || s["proxy_type"] != "sidecar" {
		t.Errorf("proxy is %v, type %v", s["proxy"], s["proxy_type"])
	}
	for _, kind := range []string{"cluster", "endpoint", "listener", "route"} {
		if s[kind+"_sent"] == nil || s[kind+"_sent"] != s[kind+"_acked"] {
			t.Errorf("%s: sent %v, acknowledged %v", kind, s[kind+"_sent"], s[kind+"_acked"])
		}
	}
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	c.want(t, eds)
	if s := p.syncz(t)[0]; s["endpoint_sent"] == s["endpoint_acked"] {
		t.Error("a response that is not acknowledged looks so")
	}
}

func TestClosedStreamLeavesTheGauge(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := subscribeSotw(t, p)
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gauge is back at 0", func() bool { return p.metric(t, "pilot_xds") == 0 })
	// Pushes still work.
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	other := p.sotw(t, nodeOf("10.0.0.2", "x", "shop"))
	other.ask(t, cds)
	other.want(t, cds)
}

func TestRequestLimitRefusesWhatWouldWaitTooLong(t *testing.T) {
	p := startPlane(t, map[string]string{"PILOT_MAX_REQUESTS_PER_SECOND": "0.1"}, small()...)
	first := p.sotw(t, nodeOf("10.0.0.1", "a", "shop"))
	first.ask(t, cds)
	first.want(t, cds)
	stream, err := dial(t, p.XDS).StreamAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("second stream ends with %v, want ResourceExhausted", err)
	}
}

func TestEndpointChangesSkipTheDebounceIfToldSo(t *testing.T) {
	p := startPlane(t, map[string]string{
		"PILOT_DEBOUNCE_AFTER": "1h", "PILOT_DEBOUNCE_MAX": "1h", "PILOT_ENABLE_EDS_DEBOUNCE": "false",
	}, small()...)
	c := subscribeDelta(t, p)
	p.updateSlice(t, makeSlice("shop", "web", "web-1", ready("10.0.0.7")))
	c.want(t, eds)
}
