package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/internal/rate"
)

// ParsePredict reads a size such as
// "proxies=20000,services=2000,endpoints=5,rate=15/s"; what is not given is zero.
// The error lists every problem.
func ParsePredict(text string) (sizing.Size, error) {
	var s sizing.Size
	fields := map[string]*float64{"proxies": &s.Proxies, "services": &s.Services, "endpoints": &s.Endpoints, "rate": &s.Rate}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		field, known := fields[key]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%q: want KEY=VALUE", part))
		case !known:
			errs = append(errs, fmt.Errorf("%q is not a key: the keys are proxies, services, endpoints and rate", key))
		case key == "rate":
			r, err := rate.Parse(value)
			if err != nil || r <= 0 {
				errs = append(errs, fmt.Errorf("rate is %q: want mutations per second above 0, such as 15/s", value))
			}
			s.Rate = float64(r)
		default:
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				errs = append(errs, fmt.Errorf("%s is %q: want a whole number above 0", key, value))
			}
			*field = float64(n)
		}
	}
	return s, problems(fmt.Sprintf("--predict %q", text), errs...)
}

// ParseSizes reads a list of PROXIESxSERVICES, such as "1000x500".
func ParseSizes(list []string) ([]sizing.Size, error) {
	var all []sizing.Size
	var errs []error
	for _, text := range list {
		proxies, services, _ := strings.Cut(text, "x")
		s, err := ParsePredict("proxies=" + proxies + ",services=" + services)
		if err != nil {
			errs = append(errs, fmt.Errorf("--sizes %q: want PROXIESxSERVICES, such as 5000x1000", text))
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

// over fills in what a size leaves out from a measured one.
func over(s, base sizing.Size) sizing.Size {
	return sizing.Size{
		Proxies: cmp.Or(s.Proxies, base.Proxies), Services: cmp.Or(s.Services, base.Services),
		Endpoints: cmp.Or(s.Endpoints, base.Endpoints), Rate: cmp.Or(s.Rate, base.Rate),
	}
}
