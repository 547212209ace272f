package result

// SLO is the verdict on one limit.
type SLO struct {
	Metric string `json:"metric"`
	// Limit is as the profile has it.
	Limit string `json:"limit"`
	// Value is absent if the run did not measure the metric; the SLO is then missed.
	Value *float64 `json:"value,omitempty"`
	// Unit of Value is "s", "bytes" or empty.
	Unit string `json:"unit,omitempty"`
	Pass bool   `json:"pass"`
}
