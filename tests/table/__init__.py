"""The op table seen from the tests: its entries, sample arguments for them, wild arguments for them."""
