//go:build realstack

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
)

// Contour is a control plane from elsewhere: it serves endpoints only of the services
// that an HTTPProxy refers to, and names them its own way.
func TestRealContourDeliversEverythingToBothVariants(t *testing.T) {
	bin := filepath.Dir(realstack.Binary(t, "contour"))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")) //nolint:forbidigo // the profile names the command alone
	for _, api := range []string{"fakekube", "kube-apiserver"} {
		t.Run(api, func(t *testing.T) {
			dir := out(t)
			args := []string{
				"run", "--quiet", "-o", dir, "-f", filepath.Join("..", "..", "docs", "contour", "profile.yaml"),
				"--set", "mesh.crds[0]=" + realstack.Binary(t, "contour-crds.yaml"),
			}
			kubeconfig := ""
			if api == "kube-apiserver" {
				kubeconfig = realstack.Start(t).Kubeconfig
				args = append(args, "--kubeconfig", kubeconfig)
			}
			code, stdout, stderr := command(t.Context(), args...)
			t.Logf("\n%s%s", stdout, stderr)
			if code != exitDone {
				t.Fatalf("exit %d", code)
			}
			r := load(t, dir)
			checkSound(t, r)
			if want := int64(r.Mutations.Complete * r.Proxies.Ready); r.Propagation.Deliveries != want {
				t.Errorf("%d deliveries, want one per mutation and proxy, %d", r.Propagation.Deliveries, want)
			}
			for _, variant := range []string{"sotw", "delta"} {
				if r.Proxies.ByVariant[variant] != 100 || r.Volume.ByVariant[variant].ByType["eds"].Resources == 0 {
					t.Errorf("%s: %d proxies, volume %+v", variant, r.Proxies.ByVariant[variant], r.Volume.ByVariant[variant])
				}
			}
			if kubeconfig == "" {
				return
			}
			code, stdout, stderr = command(t.Context(), "clean", "--kubeconfig", kubeconfig)
			if code != exitDone || !strings.Contains(stdout, "removed 0 ") {
				t.Errorf("the run left something behind: exit %d: %s%s", code, stdout, stderr)
			}
		})
	}
}
