package fakeproxy

// TableSize is the number of entries in a fleet's shared tables.
func TableSize(f *Fleet) int {
	t := f.table
	return t.bodies.size() + t.items.size() + t.views.size() + t.names.size() + t.nodes.size()
}
