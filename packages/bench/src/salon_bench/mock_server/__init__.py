"""mock_server."""
