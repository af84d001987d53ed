"""The papers' tables: protocol, data, published numbers beside ours."""
