package subprocess

import (
	"io"
	"os"
	"strings"
)

// Tail returns the last n lines of the file, looking at nothing before offset
// and at no more than the last 64 KiB.
func Tail(path string, offset int64, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	from := max(offset, end-64<<10)
	data, err := io.ReadAll(io.NewSectionReader(f, from, end-from))
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n"), nil
}
