// Package xdstest makes small xDS resources for tests.
package xdstest
