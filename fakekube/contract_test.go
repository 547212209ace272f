package fakekube_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/fakekube/kubecontract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves a store for the length of a test.
func start(t testing.TB, opts fakekube.Options) (*fakekube.Store, *fakekube.Server) {
	t.Helper()
	store := fakekube.NewStore(opts)
	server := fakekube.NewServer(store, fakekube.ServerOptions{})
	if err := server.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return store, server
}

func TestServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	_, server := start(t, fakekube.Options{})
	kubecontract.Run(t, server.RESTConfig())
}
