package doc

// Table has columns and rows of cells. Its methods return it, so that calls can be
// chained.
type Table struct {
	columns []column
	rows    []row
}

type column struct {
	head  string
	right bool
	style Style
}

// row has a cell per column, or the heading of the rows below it.
type row struct {
	group string
	cells []cell
}

type cell struct {
	text  string
	style Style
}

// Table adds a table.
func (s *Section) Table() *Table {
	t := &Table{}
	s.add(t, true)
	return t
}

// Left adds columns of words, one for each heading.
func (t *Table) Left(heads ...string) *Table { return t.add(heads, column{}) }

// Right adds columns of numbers.
func (t *Table) Right(heads ...string) *Table { return t.add(heads, column{right: true}) }

// Code adds columns of names that are written as they are.
func (t *Table) Code(heads ...string) *Table { return t.add(heads, column{style: Code}) }

func (t *Table) add(heads []string, c column) *Table {
	for _, c.head = range heads {
		t.columns = append(t.columns, c)
	}
	return t
}

// Row adds a row. Cells beyond the columns get columns of words without a heading.
func (t *Table) Row(cells ...string) *Table {
	for len(t.columns) < len(cells) {
		t.Left("")
	}
	r := row{cells: make([]cell, len(cells))}
	for i, text := range cells {
		r.cells[i] = cell{text, t.columns[i].style}
	}
	t.rows = append(t.rows, r)
	return t
}

// Mark sets the style of one cell of the last row. Columns count from zero.
func (t *Table) Mark(column int, s Style) *Table {
	t.rows[len(t.rows)-1].cells[column].style = s
	return t
}

// Group adds a heading for the rows that follow.
func (t *Table) Group(heading string) *Table {
	t.rows = append(t.rows, row{group: heading})
	return t
}

// shown returns the table without the columns that are empty in all rows. Each row
// that is no group then has a cell per column.
func (t *Table) shown() *Table {
	used := make([]bool, len(t.columns))
	for _, r := range t.rows {
		for i, c := range r.cells {
			used[i] = used[i] || c.text != ""
		}
	}
	s := &Table{rows: make([]row, len(t.rows))}
	for j, r := range t.rows {
		s.rows[j].group = r.group
	}
	for i, c := range t.columns {
		if !used[i] {
			continue
		}
		s.columns = append(s.columns, c)
		for j, r := range t.rows {
			switch {
			case i < len(r.cells):
				s.rows[j].cells = append(s.rows[j].cells, r.cells[i])
			case r.group == "":
				s.rows[j].cells = append(s.rows[j].cells, cell{})
			}
		}
	}
	return s
}

// headed reports whether any column has a heading.
func (t *Table) headed() bool {
	for _, c := range t.columns {
		if c.head != "" {
			return true
		}
	}
	return false
}

// head is the row of headings.
func (t *Table) head() row {
	r := row{cells: make([]cell, len(t.columns))}
	for i, c := range t.columns {
		r.cells[i].text = c.head
	}
	return r
}
