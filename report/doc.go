// Package report renders a result: as text that can be read in ten seconds, as
// Markdown for a comment, as JSON, and as an HdrHistogram log. It needs nothing
// but the result, so a saved run can be rendered again anywhere.
package report
