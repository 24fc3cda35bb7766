"""Services for collections."""
