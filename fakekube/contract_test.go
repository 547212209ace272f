package fakekube_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsbench/xdsbench/fakekube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves a store for the length of a test.
func start(tb testing.TB, opts fakekube.Options) (*fakekube.Store, *fakekube.Server) {
	tb.Helper()
	store := fakekube.NewStore(opts)
	server := fakekube.NewServer(store, fakekube.ServerOptions{})
	if err := server.Start(tb.Context(), "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
		store.Close()
	})
	return store, server
}

func TestServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	_, server := start(t, fakekube.Options{})
	runContract(t, server.RESTConfig())
}
