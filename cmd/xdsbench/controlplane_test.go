package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestControlPlaneListensBeyondLoopbackOnlyWhenTold(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		for _, flag := range []string{"--xds-address", "--http-address"} {
			code, _, stderr := command(t.Context(), "controlplane", "--kubeconfig", "no/kubeconfig", flag, address)
			if code != exitUsage || !strings.Contains(stderr, flag) || !strings.Contains(stderr, address) || !strings.Contains(stderr, "--allow-remote") {
				t.Errorf("%s %s: exit %d: %s", flag, address, code, stderr)
			}
		}
	}
	for _, args := range [][]string{
		{"--xds-address", "[::1]:0", "--http-address", "localhost:0"},
		{"--xds-address", "0.0.0.0:0", "--http-address", ":0", "--allow-remote"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		code, _, stderr := command(ctx, append([]string{"controlplane", "--kubeconfig", "no/kubeconfig"}, args...)...)
		cancel()
		if code != exitFailed || !strings.Contains(stderr, "no/kubeconfig") {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

func TestControlPlaneRefusesPagesToForeignHosts(t *testing.T) {
	t.Parallel()
	p := startPeers(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for host, want := range map[string]int{p.pages: http.StatusOK, "localhost": http.StatusOK, "evil.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.pages+"/ready", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: %s, want %d", host, resp.Status, want)
		}
	}
}
