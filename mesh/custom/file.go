package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxFile bounds the size of a file.
const maxFile = 16 << 20

// File is a file that a profile names, and its content once that was read, so that the
// profile can be used where the file is not. In YAML it is the path alone, or a mapping
// of path and text, of which the path may be left out.
type File struct {
	// Path is the file's name; a relative one is relative to the profile's file, or to
	// the working directory if the profile has none.
	Path string `json:"path,omitempty" role:"setting"`
	// Text is its content.
	Text string `json:"text,omitempty" role:"load"`
}

// UnmarshalJSON reads a path, or both fields.
func (f *File) UnmarshalJSON(data []byte) error {
	*f = File{}
	if err := json.Unmarshal(data, &f.Path); err == nil {
		return nil
	}
	type plain File
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(f)); err != nil {
		return fmt.Errorf("%s is neither the path of a file nor a mapping of path and text", data)
	}
	return nil
}

// Read fills in the text from the file, in dir if the path is relative. A text that is
// there stays.
func (f *File) Read(dir string) error {
	if f.Text != "" || f.Path == "" {
		return nil
	}
	path := f.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return fmt.Errorf("%s: %d bytes: must be at most %d", path, info.Size(), maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("%s: is empty", path)
	}
	f.Text = string(text)
	return nil
}

// name is what errors call the file.
func (f *File) name() string {
	if f.Path == "" {
		return "text"
	}
	return f.Path
}

// errNoFile says that neither a path nor a text is given.
var errNoFile = errors.New("no file: name one, relative to the profile's file")
