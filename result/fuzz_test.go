package result_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

// FuzzDecode: no content of a result file stops the program, and what is read can be
// written and read again.
func FuzzDecode(f *testing.F) {
	saved, err := os.ReadFile(filepath.Join("testdata", "v1", "run", result.ResultFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved)
	for _, text := range []string{
		`{"schema":"xdsbench/result/v2","outages":[{"held":null}],"propagation":{"all":{"histogram":"x"}}}`,
		`{"schema":"xdsbench/result/v1","convergence":{"examples":[{"ghosts":1},null,7]},"slo":[{"metric":"propagation.unreached"}],"profile":{"slo":{"mutations.silent":"0"}}}`,
		`{"schema":"xdsbench/result/v1","propagation":{"all":{"count":1,"histogram":"HISTFAAAABx42pNpmSzMwMDAxQABzFCaEUoz2X+AsAATUwQG"}}}`,
		`{"schema":"xdsbench/result/v1","controlPlane":{"stages":{"push":{"p50":-1,"width":3}}},"outages":{}}`,
		`{"schema":"xdsbench/result/v1","outages":[{"held":[{"ghostEndpoints":1}]}],"sync":[[1]]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := result.Decode(data, "fuzzed")
		if err != nil {
			return
		}
		dir := t.TempDir()
		if r.Save(dir) != nil {
			return // such as a profile that is no JSON
		}
		if _, err := result.Load(dir); err != nil {
			t.Errorf("what was read and saved does not load: %v", err)
		}
	})
}
