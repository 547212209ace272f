package target

import (
	"errors"
	"strings"

	"github.com/xdsbench/xdsbench/internal/address"
)

// splitList splits what commas separate, without the blanks around it; nil of
// nothing.
func splitList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// addresses are those that the profile gives.
func (s Spec) addresses() []string { return splitList(s.XDSAddress) }

func (s Spec) validateAddresses() error {
	switch {
	case s.addresses() != nil:
		_, err := address.ParseList("target.xdsAddress", s.XDSAddress)
		return err
	case s.Kind == KindExternal:
		return errors.New(`target.xdsAddress: "": kind external needs the address of the ADS server, several separated by commas`)
	default:
		return nil
	}
}
