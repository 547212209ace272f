package target

import (
	"errors"
	"strings"
)

// splitCommand splits a command line into words by the quoting rules of the
// POSIX shell (Shell Command Language, section 2.2), and expands nothing.
func splitCommand(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false // a word has begun, if only by an empty pair of quotes
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += 1 + end
			started = true
		case '"':
			n, err := doubleQuoted(line[i+1:], &word)
			if err != nil {
				return nil, err
			}
			i += n
			started = true
		case '\\':
			if i+1 == len(line) {
				return nil, errors.New("a backslash ends the line")
			}
			i++
			word.WriteByte(line[i])
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// doubleQuoted appends to word what stands before the closing double quote, and
// returns how many bytes that was, the quote included. A backslash escapes only
// the characters that are special within double quotes.
func doubleQuoted(s string, word *strings.Builder) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a double quote is not closed")
}
