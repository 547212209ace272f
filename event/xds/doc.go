// Package xds names what the xDS transport speaks of: its variants and its
// resource types, as small numbers with the short names that results use.
package xds
