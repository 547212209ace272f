package rows

import (
	"encoding/csv"
	"errors"
	"io"
	"path/filepath"

	"github.com/xdsbench/xdsbench/internal/file"
)

// The files of the tables in the folder of a result.
const (
	MutationsFile = "mutations.csv"
	ProxiesFile   = "proxies.csv"
	TimelineFile  = "timeline.csv"
)

// Save writes the tables into a folder as CSV; a nil one is left out.
func Save(dir string, mutations []Mutation, proxies []Proxy, timeline []Timeline) error {
	var errs []error
	if mutations != nil {
		errs = append(errs, writeCSV(filepath.Join(dir, MutationsFile), mutationHeader(), mutations, Mutation.fields))
	}
	if proxies != nil {
		errs = append(errs, writeCSV(filepath.Join(dir, ProxiesFile), proxyHeader(), proxies, Proxy.fields))
	}
	if timeline != nil {
		errs = append(errs, writeCSV(filepath.Join(dir, TimelineFile), timelineHeader(timeline), timeline, Timeline.fields))
	}
	return errors.Join(errs...)
}

func writeCSV[Row any](path string, header []string, all []Row, fields func(Row) []string) error {
	return file.Write(path, func(w io.Writer) error {
		c := csv.NewWriter(w)
		err := c.Write(header)
		for _, row := range all {
			if err != nil {
				return err
			}
			err = c.Write(fields(row))
		}
		c.Flush()
		return errors.Join(err, c.Error())
	})
}
