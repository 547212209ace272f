package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/profiles"
)

func profilesCommand(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "profiles",
		Short: "List, show and check load profiles",
		Args:  argsExactly(0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List the built-in profiles",
			Args:  argsExactly(0),
			RunE:  func(*cobra.Command, []string) error { return listProfiles(s) },
		},
		&cobra.Command{
			Use:   "show NAME",
			Short: "Print a built-in profile, to start a file of your own from",
			Args:  argsExactly(1),
			RunE: func(_ *cobra.Command, args []string) error {
				data, err := profiles.Source(args[0])
				if err != nil {
					return usageError(err)
				}
				_, err = s.stdout.Write(data)
				return err
			},
		},
		&cobra.Command{
			Use:   "check FILE",
			Short: "Check a profile file: every problem at once",
			Args:  argsExactly(1),
			RunE:  func(_ *cobra.Command, args []string) error { return checkProfile(s, args[0]) },
		})
	return c
}

func listProfiles(s streams) error {
	d := &doc.Document{}
	table := d.Section("").Table()
	for _, name := range profiles.Names() {
		p, err := profiles.Load(name, nil)
		if err != nil {
			return fmt.Errorf("built-in profile %s: %w", name, err)
		}
		table.Row(name, p.Description)
	}
	return d.Text(s.stdout, terminal(s.stdout))
}

func checkProfile(s streams, file string) error {
	if _, err := profiles.LoadFile(file, nil, harness.Validate); err != nil {
		return usageError(err)
	}
	fmt.Fprintf(s.stdout, "%s: valid\n", file)
	return nil
}
