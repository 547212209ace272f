package main

import "github.com/spf13/cobra"

func proxiesCommand(s streams) *cobra.Command { return &cobra.Command{Use: "proxies"} }
