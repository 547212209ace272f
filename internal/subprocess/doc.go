// Package subprocess runs programs in process groups of their own, so that
// nothing of them is left when they are stopped, and finds addresses for them
// to listen on. It is for Linux.
package subprocess
