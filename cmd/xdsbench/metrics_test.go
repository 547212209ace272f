package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunServesItsOwnFiguresUnderTheDocumentedNames(t *testing.T) {
	address := closedAddress(t)
	c, output := start(t, "run", "smoke", "-o", out(t), "--duration", "3s", "--metrics-address", address)
	awaitText(t, output, "drain")
	time.Sleep(200 * time.Millisecond)
	served := get(t, "http://"+address+"/metrics")
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "attacker.example"
	if response, err := http.DefaultClient.Do(foreign); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign Host header: %v, %v; want 403", response, err)
	} else {
		_ = response.Body.Close()
	}
	if code := exitCode(t, c); code != exitDone {
		t.Fatalf("exit %d:\n%s", code, output)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for line := range strings.Lines(served) {
		if name, ok := strings.CutPrefix(line, "# TYPE xdsbench_"); ok {
			name, _, _ = strings.Cut(name, " ")
			names++
			if !strings.Contains(string(doc), "`xdsbench_"+name) {
				t.Errorf("docs/metrics.md does not say what xdsbench_%s is", name)
			}
		}
	}
	if names < 10 || !strings.Contains(served, `xdsbench_proxies{state="ready"} 20`) {
		t.Errorf("%d metrics:\n%s", names, served)
	}
}

func TestAddressInUseIsReportedBeforeAnythingStarts(t *testing.T) {
	dir := out(t)
	code, _, stderr := command(t.Context(), "run", "smoke", "-q", "-o", dir, "--metrics-address", listener(t).Addr().String())
	if code != exitUsage || !strings.Contains(stderr, "--metrics-address") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the results folder was left behind")
	}
}

func TestFiguresAreServedToOtherMachinesOnlyWhenToldSo(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:9090", "[::]:9090"} {
		dir := out(t)
		code, _, stderr := command(t.Context(), "run", "smoke", "-q", "-o", dir, "--metrics-address", address)
		if code != exitUsage || !strings.Contains(stderr, address) || !strings.Contains(stderr, "--allow-remote") {
			t.Errorf("%s: exit %d: %s", address, code, stderr)
		}
	}
}

// get reads a page.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
