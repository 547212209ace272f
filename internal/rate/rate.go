// Package rate is the profile's notation of a rate: "50/s", "10/m", "0.5/s".
package rate

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of events per second.
type Rate float64

// Parse reads "N", "N/s", "N/m" or "N/h", N being a finite number of at least zero.
func Parse(s string) (Rate, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(s), "/")
	per, ok := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[strings.TrimSpace(unit)]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !ok || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, fmt.Errorf("%q is not a rate: write a number per second, minute or hour, such as 50/s, 10/m or 5/h", s)
	}
	if n < 0 {
		return 0, fmt.Errorf("%q: a rate cannot be negative", s)
	}
	return Rate(n / per), nil
}

// String writes the rate per second, such as "4/s".
func (r Rate) String() string {
	return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s"
}

// Interval returns the mean time between two events; zero for a rate of zero.
func (r Rate) Interval() time.Duration {
	if r <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / float64(r))
}

// MarshalJSON writes the rate as a string.
func (r Rate) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// UnmarshalJSON reads a string as Parse does, or a plain number per second. As by
// JSON's convention, null changes nothing.
func (r *Rate) UnmarshalJSON(data []byte) error {
	s := string(data)
	if s == "null" {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	}
	parsed, err := Parse(s)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
