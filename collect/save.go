package collect

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The files of a saved result.
const (
	ResultFile    = "result.json"
	MutationsFile = "mutations.csv"
	ProxiesFile   = "proxies.csv"
	TimelineFile  = "timeline.csv"
)

// ErrNoResult says that a folder holds no result.
var ErrNoResult = errors.New("no result")

// Save writes the result, and the rows it has, into a folder. Each file appears
// whole or not at all.
func (r *Result) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the result: %w", err)
	}
	err := WriteFile(filepath.Join(dir, ResultFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	})
	if r.MutationRows != nil {
		err = errors.Join(err, writeCSV(filepath.Join(dir, MutationsFile), mutationHeader(), r.MutationRows, MutationRow.fields))
	}
	if r.ProxyRows != nil {
		err = errors.Join(err, writeCSV(filepath.Join(dir, ProxiesFile), proxyHeader(), r.ProxyRows, ProxyRow.fields))
	}
	if r.TimelineRows != nil {
		err = errors.Join(err, writeCSV(filepath.Join(dir, TimelineFile), timelineHeader(r.TimelineRows), r.TimelineRows, TimelineRow.fields))
	}
	return err
}

// Load reads the result in a folder, without its rows. The error is
// ErrNoResult if there is none.
func Load(dir string) (*Result, error) {
	path := filepath.Join(dir, ResultFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: there is no %s; give the folder that a run wrote", ErrNoResult, dir, ResultFile)
	}
	if err != nil {
		return nil, fmt.Errorf("loading a result: %w", err)
	}
	return Decode(data, path)
}

// Decode reads the content of a result file, without rows. Errors name path.
func Decode(data []byte, path string) (*Result, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q: use the version of xdsbench that wrote it", path, head.Schema, Schema)
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	return r, nil
}

// WriteFile writes a file by way of a temporary one beside it, so that it
// appears whole or not at all.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeCSV[Row any](path string, header []string, rows []Row, fields func(Row) []string) error {
	return WriteFile(path, func(w io.Writer) error {
		c := csv.NewWriter(w)
		err := c.Write(header)
		for _, row := range rows {
			if err != nil {
				return err
			}
			err = c.Write(fields(row))
		}
		c.Flush()
		return errors.Join(err, c.Error())
	})
}

func mutationHeader() []string {
	return []string{
		"seq", "op", "kind", "step", "service", "object", "intended_offset", "issued", "acked",
		"late", "silent", "failed", "expected", "delivered", "superseded", "unreached", "interrupted", "retired",
		"first", "median", "p99", "last",
	}
}

func (r MutationRow) fields() []string {
	f := []string{
		strconv.FormatUint(r.Seq, 10), strconv.FormatUint(r.Op, 10), r.Kind, r.Step, r.Service, r.Object,
		seconds(r.Intended), seconds(r.Issued), present(r.Acked),
		strconv.FormatBool(r.Late), strconv.FormatBool(r.Silent), strconv.FormatBool(r.Failed),
		number(r.Expected), number(r.Delivered), number(r.Superseded),
		number(r.Unreached), number(r.Interrupted), number(r.Retired),
	}
	if !r.Sampled {
		return append(f, "", "", "", "")
	}
	return append(f, seconds(r.First), seconds(r.Median), seconds(r.P99), seconds(r.Last))
}

func proxyHeader() []string {
	return []string{
		"proxy", "name", "variant", "ready", "time_to_ready", "config_bytes", "disconnects", "refused",
		"responses", "bytes", "nacks", "deliveries", "unreached", "interrupted", "diverged", "p50", "p99", "max",
	}
}

func (r ProxyRow) fields() []string {
	return []string{
		strconv.Itoa(r.Proxy), r.Name, r.Variant, strconv.FormatBool(r.Ready), present(r.TimeToReady),
		number(r.ConfigBytes), number(r.Disconnects), number(r.Refused),
		number(r.Responses), number(r.Bytes), number(r.Nacks),
		number(r.Deliveries), number(r.Unreached), number(r.Interrupted), strconv.Itoa(r.Diverged),
		present(r.P50), present(r.P99), present(r.Max),
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// seconds writes seconds to the microsecond.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }

// present leaves a cell empty where there is no figure.
func present(s float64) string {
	if s == 0 {
		return ""
	}
	return seconds(s)
}
