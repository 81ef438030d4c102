// The importer.
