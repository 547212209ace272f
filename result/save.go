package result

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/xdsbench/xdsbench/result/rows"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
		err = errors.Join(err, writeCSV(filepath.Join(dir, MutationsFile), rows.MutationHeader(), r.MutationRows, rows.Mutation.Fields))
	}
	if r.ProxyRows != nil {
		err = errors.Join(err, writeCSV(filepath.Join(dir, ProxiesFile), rows.ProxyHeader(), r.ProxyRows, rows.Proxy.Fields))
	}
	if r.TimelineRows != nil {
		err = errors.Join(err, writeCSV(filepath.Join(dir, TimelineFile), rows.TimelineHeader(r.TimelineRows), r.TimelineRows, rows.Timeline.Fields))
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
