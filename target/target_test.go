package target_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/target"
)

// fakeConfig returns a Config whose target is this test binary in the given mode.
func fakeConfig(t *testing.T, mode string) target.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := target.DefaultSpec()
	spec.Env = map[string]string{modeVariable: mode}
	return target.Config{
		Spec: spec, Kubeconfig: kubeconfig, Dir: filepath.Join(dir, "run"), Self: self,
		Environ:      []string{"PATH=/usr/bin:/bin"},
		ReadyTimeout: 20 * time.Second, StopGrace: 5 * time.Second,
	}
}

// start starts a target that the test's end stops.
func start(t *testing.T, cfg target.Config) *target.Target {
	t.Helper()
	tg, err := target.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tg
}

// groupGone reports whether no process of the group is left.
func groupGone(pgid int) bool { return errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }

func accepts(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func readLog(t *testing.T, cfg target.Config) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cfg.Dir, target.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStartReturnsAReadyEmbeddedTarget(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	tg := start(t, cfg)
	info := tg.Info()
	if info.Kind != "embedded" || info.Version != "fake 1.2.3" || info.PID == 0 {
		t.Errorf("Info() = %+v", info)
	}
	if !accepts(tg.XDSAddresses()[0]) {
		t.Errorf("%s does not accept connections", tg.XDSAddresses()[0])
	}
	metrics, err := tg.Replicas()[0].Scrape(t.Context())
	if err != nil || !bytes.Contains(metrics, []byte("go_goroutines")) {
		t.Errorf("Scrape: %v, %.100s", err, metrics)
	}
	profile, err := tg.Replicas()[0].FetchProfile(t.Context(), "heap", 0)
	if err != nil || !bytes.HasPrefix(profile, []byte{0x1f, 0x8b}) {
		t.Errorf("FetchProfile: %v, %d bytes, want a gzip stream", err, len(profile))
	}
	usage, err := tg.Usage(t.Context())
	if err != nil || usage.RSSBytes < 1<<20 || usage.PeakRSSBytes < usage.RSSBytes {
		t.Errorf("Usage() = %+v, %v", usage, err)
	}
	if exit := tg.Replicas()[0].Exit(); exit != nil {
		t.Errorf("Exit of a running target: %+v", exit)
	}
	want := "args [controlplane --kubeconfig " + cfg.Kubeconfig + " --xds-address " + tg.XDSAddresses()[0]
	if log := readLog(t, cfg); !strings.Contains(log, want) {
		t.Errorf("the log\n%s\nlacks %q", log, want)
	}
}

func TestStartQuotesTheLogOfAProcessThatCrashes(t *testing.T) {
	_, err := target.Start(t.Context(), fakeConfig(t, "crash"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"ended before it was ready: exit status 3", "fatal: no such file: mesh.yaml", "line 39", "line 26", target.LogFile} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "line 25\n") {
		t.Errorf("error quotes more than 15 lines:\n%v", err)
	}
}

func TestStartGivesUpOnAProcessThatIsNeverReady(t *testing.T) {
	cfg := fakeConfig(t, "never-ready")
	cfg.ReadyTimeout = 500 * time.Millisecond
	_, err := target.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "is not ready after 500ms") || !strings.Contains(err.Error(), "mode never-ready") {
		t.Fatalf("got %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := target.Start(ctx, fakeConfig(t, "never-ready"))
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Fatalf("got %v", err)
	}
}

func TestExitedTellsOfACrashMidRun(t *testing.T) {
	tg := start(t, fakeConfig(t, "dies"))
	select {
	case <-tg.Replicas()[0].Exited():
	case <-time.After(10 * time.Second):
		t.Fatal("no notice of the end")
	}
	if exit := tg.Replicas()[0].Exit(); exit == nil || exit.Status != "exit status 4" || !strings.HasSuffix(exit.Log, "panic: out of luck") {
		t.Errorf("Exit() = %+v", exit)
	}
	usage, err := tg.Usage(t.Context())
	if err != nil || usage.CPUSeconds <= 0 || usage.RSSBytes != 0 {
		t.Errorf("Usage() after the end = %+v, %v", usage, err)
	}
	if _, err := tg.Replicas()[0].Scrape(t.Context()); err == nil {
		t.Error("Scrape after the end: no error")
	}
}

func TestStopLeavesNothingOfTheProcessGroup(t *testing.T) {
	for _, mode := range []string{"serve", "parent", "deaf", "deaf-parent"} {
		t.Run(mode, func(t *testing.T) {
			cfg := fakeConfig(t, mode)
			deaf := strings.HasPrefix(mode, "deaf")
			// A program built with the race detector takes a second to exit.
			cfg.StopGrace = 20 * time.Second
			if deaf {
				cfg.StopGrace = 300 * time.Millisecond
			}
			tg := start(t, cfg)
			pid := tg.Info().PID
			began := time.Now()
			for range 2 { // the second time does nothing
				if err := tg.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if deaf != (time.Since(began) >= cfg.StopGrace) {
				t.Errorf("stopped after %s with a grace period of %s", time.Since(began), cfg.StopGrace)
			}
			<-tg.Replicas()[0].Exited()
			if child := regexp.MustCompile(`child (\d+)`).FindStringSubmatch(readLog(t, cfg)); child != nil {
				awaitGone(t, child[1])
			}
			if !groupGone(pid) && !strings.Contains(mode, "parent") {
				t.Errorf("process group %d is still there", pid)
			}
		})
	}
}

// awaitGone waits until an orphan that was killed is gone, or is a zombie that
// whoever adopted it has yet to reap.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	for range 200 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("child %s is still there", pid)
}

func TestStopKillsAtOnceWhenItsContextIsDone(t *testing.T) {
	tg := start(t, fakeConfig(t, "deaf"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := tg.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestTargetDiesWithAHarnessThatIsKilled(t *testing.T) {
	cfg := fakeConfig(t, "")
	cmd := exec.CommandContext(t.Context(), cfg.Self, cfg.Kubeconfig, cfg.Dir)
	cmd.Env = []string{modeVariable + "=harness"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid := regexp.MustCompile(`target (\d+)`).FindStringSubmatch(line)
	if err != nil || pid == nil {
		t.Errorf("the harness wrote %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // "signal: killed"
	if pid != nil {
		awaitGone(t, pid[1])
	}
}

func TestRestartKeepsAddressesAndAddsUpUsage(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	tg := start(t, cfg)
	first := tg.Info()
	exited := tg.Replicas()[0].Exited()
	before, err := tg.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := tg.Replicas()[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-exited
	second := tg.Info()
	if second.PID == first.PID || second.XDSAddresses[0] != first.XDSAddresses[0] {
		t.Errorf("before: %+v\nafter: %+v", first, second)
	}
	select {
	case <-tg.Replicas()[0].Exited():
		t.Error("the new life is said to have ended")
	default:
	}
	after, err := tg.Usage(t.Context())
	if err != nil || after.CPUSeconds < before.CPUSeconds || after.PeakRSSBytes < before.PeakRSSBytes {
		t.Errorf("usage before %+v, after %+v, %v", before, after, err)
	}
	if n := strings.Count(readLog(t, cfg), "mode serve"); n != 2 {
		t.Errorf("the log tells of %d lives, want 2", n)
	}
	// A target that was stopped can be started again: an outage.
	if err := tg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if accepts(first.XDSAddresses[0]) {
		t.Error("still serving after Stop")
	}
	if err := tg.Replicas()[0].Restart(t.Context()); err != nil || !accepts(first.XDSAddresses[0]) {
		t.Errorf("restart after stop: %v", err)
	}
}

func TestKilledTargetIsGoneAtOnceAndCanComeBack(t *testing.T) {
	tg := start(t, fakeConfig(t, "serve"))
	address, began := tg.XDSAddresses()[0], time.Now()
	if err := tg.Replicas()[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if accepts(address) || time.Since(began) > 5*time.Second {
		t.Errorf("still serving, or gone only after %s", time.Since(began))
	}
	if err := tg.Replicas()[0].Restart(t.Context()); err != nil || !accepts(address) {
		t.Errorf("restart: %v", err)
	}
}

func TestTargetsEnvironmentIsOursAndTheProfilesAlone(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Environ = []string{"PATH=/bin", "HOME=/home/x", "PILOT_DEBOUNCE_AFTER=1s", "GOGC=5"}
	cfg.Spec.Env["PILOT_PUSH_THROTTLE"] = "7"
	cfg.Spec.Env["cloud_token"] = "hush"
	cfg.Spec.Env["API_KEY"] = "hush"
	info := start(t, cfg).Info()
	want := map[string]string{
		"PILOT_PUSH_THROTTLE": "7", modeVariable: "serve",
		"PILOT_MAX_REQUESTS_PER_SECOND": "100000", "cloud_token": "REDACTED", "API_KEY": "REDACTED",
	}
	if len(info.Env) != len(want) {
		t.Errorf("Env = %v, want %v", info.Env, want)
	}
	for name, value := range want {
		if info.Env[name] != value {
			t.Errorf("Env[%s] = %q, want %q", name, info.Env[name], value)
		}
	}
}

func TestIstiodRunsInAnEmptyDirectoryWithItsFlags(t *testing.T) {
	cfg := fakeConfig(t, "serve")
	cfg.Spec.Kind, cfg.Spec.Binary = target.KindIstiod, cfg.Self
	cfg.Spec.Env["ENABLE_CA_SERVER"] = "true"
	cfg.Spec.ConnectionLimit = "default"
	tg := start(t, cfg)
	info := tg.Info()
	if info.Env["ENABLE_CA_SERVER"] != "true" || info.Env["POD_NAMESPACE"] != "istio-system" {
		t.Errorf("Env = %v: want our defaults under the profile's", info.Env)
	}
	if _, set := info.Env["PILOT_MAX_REQUESTS_PER_SECOND"]; set {
		t.Error("connectionLimit default raised the limit")
	}
	cwd, err := os.Readlink("/proc/" + strconv.Itoa(info.PID) + "/cwd")
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(cwd); err != nil || len(entries) != 0 {
		t.Errorf("working directory %s: %v %v", cwd, entries, err)
	}
	if err := tg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cwd); !os.IsNotExist(err) {
		t.Errorf("working directory after Stop: %v", err)
	}
}
