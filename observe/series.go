package observe

import (
	"bufio"
	"bytes"
	"strconv"
)

// SumSeries adds up all series of a metric in a scrape, without parsing the
// rest of it; false if there is none.
func SumSeries(scrape []byte, name string) (sum float64, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(scrape))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, found := bytes.CutPrefix(lines.Bytes(), []byte(name))
		if !found || len(rest) == 0 || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		// Label values may hold any byte but an unescaped quote: the value follows
		// the last brace.
		fields := bytes.Fields(rest[bytes.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			continue
		}
		if x, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
			sum, ok = sum+x, true
		}
	}
	return sum, ok
}
