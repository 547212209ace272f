package proxyconfig

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/internal/units"
)

// Seen is one thing that a watched proxy saw: a response, or an event of its stream.
type Seen struct {
	At      time.Time `json:"at"`
	Variant string    `json:"variant"`
	// Event is "connected", "ready", "disconnected" or "refused", Error why; both are
	// empty for a response.
	Event string `json:"event,omitempty"`
	Error string `json:"error,omitempty"`
	// Type is the response's, Version and Nonce as the proxy has them then. Bytes is
	// the size of the message.
	Type    string `json:"type,omitempty"`
	Version string `json:"version,omitempty"`
	Nonce   string `json:"nonce,omitempty"`
	Bytes   int    `json:"bytes,omitempty"`
	// Resources and Removed count what the response had; Duplicates those that the proxy
	// held just so.
	Resources  int `json:"resources,omitempty"`
	Removed    int `json:"removed,omitempty"`
	Duplicates int `json:"duplicates,omitempty"`
	// Nack is why the response was rejected; empty if it was accepted.
	Nack string `json:"nack,omitempty"`
	// Changes are what the proxy then held otherwise, also of other types: the endpoints of
	// a cluster go with the cluster.
	Changes []Change `json:"changes,omitempty"`
}

// Lines of one response, and rows of one change, that Text writes at most.
const (
	maxChanges = 20
	maxRows    = 20
)

// Text writes what was seen as a few lines for a terminal. Long lists are cut, and say so.
func (s *Seen) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString(s.At.Format("15:04:05.000"))
	switch {
	case s.Event != "" && s.Error != "":
		fmt.Fprintf(&b, "  %s: %s\n", s.Event, s.Error)
	case s.Event != "":
		fmt.Fprintf(&b, "  %s\n", s.Event)
	default:
		s.response(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Seen) response(b *strings.Builder) {
	answer := "ACK"
	if s.Nack != "" {
		answer = "NACK: " + s.Nack
	}
	fmt.Fprintf(b, "  %-4s %s, %s", strings.ToUpper(s.Type), units.Plural(s.Resources, "resource", "resources"), units.Bytes(int64(s.Bytes)))
	if s.Removed > 0 {
		fmt.Fprintf(b, ", %d removed", s.Removed)
	}
	if s.Duplicates > 0 {
		fmt.Fprintf(b, ", %d as before", s.Duplicates)
	}
	fmt.Fprintf(b, ", version %s  %s\n", s.Version, answer)
	if len(s.Changes) == 0 && s.Nack == "" {
		b.WriteString("    nothing changed\n")
	}
	for i, c := range s.Changes {
		if i == maxChanges {
			fmt.Fprintf(b, "    and %d more\n", len(s.Changes)-i)
			break
		}
		c.text(b)
	}
}

// text writes a change: +, ~ or -, and what differs below it.
func (c *Change) text(b *strings.Builder) {
	sign := map[string]string{Added: "+", Changed: "~", Removed: "-"}[c.What]
	fmt.Fprintf(b, "    %s %s %s", sign, c.Type, c.Name)
	if len(c.Gained)+len(c.Lost) == 0 && len(c.Fields) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(c.Fields, ", "))
	}
	b.WriteByte('\n')
	if c.What != Changed && c.Type != "eds" {
		return // its one row says little more than its name
	}
	rows := 0
	for _, side := range []struct {
		sign string
		rows []string
	}{{"-", c.Lost}, {"+", c.Gained}} {
		for i, row := range side.rows {
			if rows++; rows > maxRows {
				fmt.Fprintf(b, "        and %d more\n", len(side.rows)-i)
				break
			}
			fmt.Fprintf(b, "        %s %s\n", side.sign, row)
		}
	}
}
