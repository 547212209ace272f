package result

import "fmt"

// Silence is a time in which a peer of the harness answered nothing although it had
// reason to.
type Silence struct {
	// Who is "control plane", "replica 1", "API server", or a type of resource at a
	// variant, such as "cds for sotw proxies".
	Who string `json:"who"`
	// From is when it answered last, in seconds from the start of the steady phase;
	// negative before.
	From float64 `json:"from" unit:"s"`
	// Detail says what is known of it, such as "20 streams open, 0 responses".
	Detail string `json:"detail,omitempty"`
}

// String is a clause that a verdict or a warning can quote.
func (s Silence) String() string {
	when := fmt.Sprintf("from %.1f s of steady load on", s.From)
	if s.From < 0 {
		when = "since before steady load began"
	}
	text := fmt.Sprintf("%s answered nothing %s", s.Who, when)
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}
