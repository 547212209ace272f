package subprocess_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// scheduling is a thread's policy and niceness.
type scheduling struct {
	policy uint32
	nice   int32
}

func schedulingOf(tb testing.TB, thread int) scheduling {
	tb.Helper()
	a, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return scheduling{a.Policy, a.Nice}
}

func TestProcessHasItsPriorityAndWeKeepOurs(t *testing.T) {
	ours := schedulingOf(t, 0)
	for priority, want := range map[subprocess.Priority]scheduling{
		subprocess.Same: ours,
		subprocess.Low:  {ours.policy, min(ours.nice+5, 19)},
		subprocess.Idle: {unix.SCHED_IDLE, ours.nice}, // which has no effect there
	} {
		t.Run(fmt.Sprint(priority), func(t *testing.T) {
			p, err := subprocess.Start(exec.CommandContext(t.Context(), "sleep", "60"), priority)
			if err != nil {
				t.Fatal(err)
			}
			if got := schedulingOf(t, p.PID()); got != want {
				t.Errorf("process has %+v, want %+v", got, want)
			}
			if err := p.Stop(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		})
	}
	// The threads that started them have ended, or do so just now; but Go parks the
	// first thread for ever instead.
	deadline := time.Now().Add(10 * time.Second)
	for _, thread := range threads(t) {
		if thread == os.Getpid() {
			continue
		}
		for alive(thread) && schedulingOf(t, thread) != ours {
			if time.Now().After(deadline) {
				t.Fatalf("thread %d has %+v, want %+v", thread, schedulingOf(t, thread), ours)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func threads(tb testing.TB) []int {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		tb.Fatal(err)
	}
	var all []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func alive(thread int) bool {
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(thread))
	return err == nil
}
