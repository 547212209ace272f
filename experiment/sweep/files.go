package sweep

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/xdsbench/xdsbench/internal/file"
)

// The report's files in a sweep's folder, beside charts and merged profiles.
const (
	ReportFile   = "report.json"
	MarkdownFile = "report.md"
)

// Files writes the report, its charts and the merged profiles into the sweep's
// folder.
func (r *Report) Files(dir string) error {
	errs := []error{
		file.WriteJSON(filepath.Join(dir, ReportFile), r),
		file.Write(filepath.Join(dir, MarkdownFile), r.Markdown),
		r.mergeProfiles(dir),
	}
	for _, c := range r.charts() {
		errs = append(errs, file.Write(filepath.Join(dir, c.file), c.chart.SVG))
	}
	return errors.Join(errs...)
}

// JSON writes the report as it is saved.
func (r *Report) JSON(w io.Writer) error { return file.EncodeJSON(w, r) }
