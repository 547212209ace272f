package capacity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/result/metric"
)

// Want is a size to predict; what is zero is as in the measured mesh.
type Want sizing.Size

// over fills in what is not given.
func (w Want) over(base sizing.Size) sizing.Size {
	for _, f := range []struct{ to, from *float64 }{
		{&base.Proxies, &w.Proxies},
		{&base.Services, &w.Services},
		{&base.Endpoints, &w.Endpoints},
		{&base.Rate, &w.Rate},
	} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
	return base
}

// ParsePredict reads "proxies=20000,services=2000,endpoints=5,rate=15/s". The
// error lists every problem.
func ParsePredict(text string) (Want, error) {
	var w Want
	fields := map[string]*float64{"proxies": &w.Proxies, "services": &w.Services, "endpoints": &w.Endpoints}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("--predict %q: "+format, append([]any{text}, args...)...))
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		field, known := fields[key]
		switch {
		case !ok:
			bad("%q: want KEY=VALUE", part)
		case key == "rate":
			r, err := rate.Parse(value)
			if err != nil || r <= 0 {
				bad("rate is %q: want mutations per second above 0, such as 15/s", value)
				continue
			}
			w.Rate = float64(r)
		case !known:
			bad("%q is not a key: there are proxies, services, endpoints and rate", key)
		default:
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				bad("%s is %q: want a whole number above 0", key, value)
				continue
			}
			*field = float64(n)
		}
	}
	return w, errors.Join(errs...)
}

// ParseSizes reads a list of PROXIESxSERVICES, such as "1000x500".
func ParseSizes(list []string) ([]Want, error) {
	var all []Want
	var errs []error
	for _, text := range list {
		proxies, services, _ := strings.Cut(text, "x")
		p, errP := strconv.Atoi(proxies)
		s, errS := strconv.Atoi(services)
		if errP != nil || errS != nil || p < 1 || s < 1 {
			errs = append(errs, fmt.Errorf("--sizes %q: want PROXIESxSERVICES, such as 5000x1000", text))
			continue
		}
		all = append(all, Want{Proxies: float64(p), Services: float64(s)})
	}
	return all, errors.Join(errs...)
}

// ParseBytes reads a size such as "4GiB", "512MiB" or "2GB".
func ParseBytes(text string) (float64, error) {
	n, lower, err := metric.ParseLimit("controlPlane.peakRSSBytes", text)
	if err != nil || lower || n <= 0 {
		return 0, fmt.Errorf("%q: want a size above 0, such as 4GiB or 512MiB", text)
	}
	return n, nil
}
