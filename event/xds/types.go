package xds

import "fmt"

// Variant is the flavour of the xDS transport that a proxy speaks.
type Variant uint8

// The two variants.
const (
	SotW Variant = iota
	Delta
)

// String returns "sotw" or "delta".
func (v Variant) String() string {
	if v == Delta {
		return "delta"
	}
	return "sotw"
}

// Type is an xDS resource type, as a small number.
type Type uint8

// The resource types, in the order in which ADS serves them.
const (
	CDS Type = iota
	EDS
	LDS
	RDS
	SRDS
	SDS
	ECDS
	Workload
	Authorization
	OtherType
	NumTypes = int(OtherType) + 1
)

// String returns the short name used in results, such as "cds".
func (t Type) String() string {
	names := [NumTypes]string{"cds", "eds", "lds", "rds", "srds", "sds", "ecds", "workload", "authorization", "other"}
	if int(t) < NumTypes {
		return names[t]
	}
	return fmt.Sprintf("type-%d", uint8(t))
}
