// Package custom makes objects of any kind from templates of the user's, for control
// planes that serve endpoints only of what such objects refer to: the HTTPProxies of
// Contour, the HTTPRoutes of a gateway controller.
//
// A template is a Go text/template (https://pkg.go.dev/text/template) that renders to
// YAML, one document or several. What it can use: with perService the fields of
// [Service], with perNamespace those of [Namespace], with once those of [Whole]. It
// has no functions but the built-in ones. A field that does not exist is an error.
//
// The package is pure, but for File.Read.
package custom
