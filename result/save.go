package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/result/rows"
)

// ResultFile is the file of a result in its folder.
const ResultFile = "result.json"

// ErrNoResult says that a folder holds no result.
var ErrNoResult = errors.New("no result")

// Save writes the result, and the rows it has, into a folder. Each file appears
// whole or not at all.
func (r *Result) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the result: %w", err)
	}
	return errors.Join(
		file.WriteJSON(filepath.Join(dir, ResultFile), r),
		rows.Save(dir, r.MutationRows, r.ProxyRows, r.TimelineRows))
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

// Decode reads the content of a result file of this schema or of v1, without rows.
// Errors name path.
func Decode(data []byte, path string) (*Result, error) {
	data, err := Upgrade(data, path)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	return r, nil
}
