"""The workflow of FlexBench: run folders with their manifest, groups, tables over seeds and configs."""
