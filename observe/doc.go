// Package observe reads control planes: the differences of two scrapes of their
// metrics, the stages of the way from a mutation to a proxy and the four golden
// signals made of them, what they say of each proxy's ACKs, and where their counts
// and ours disagree. Names are istiod's.
package observe
