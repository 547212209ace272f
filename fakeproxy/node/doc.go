// Package node is who fake proxies say they are: the node that goes with a
// stream's first request, and the kinds of proxy that a fleet is made up of.
package node
