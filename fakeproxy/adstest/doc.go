// Package adstest is an ADS server that does what a test tells it: the test
// accepts a stream, expects requests, and sends responses, valid or not.
package adstest
